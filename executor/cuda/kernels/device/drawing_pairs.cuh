// Normal numbers of f32 by normal_pairs.cuh, as many at once as one block of words has; drawing.cuh computes those that it cannot decide.

inline NormalPair pair_of(f64 x) {
  NormalPair pair;
  pair.high = (f32)x;
  pair.low = (f32)(x - (f64)pair.high);
  return pair;
}

/// Same as draw_normal. Computes the elements between the tails first, then the tails, then the undecided ones, mostly none.
inline void draw_normal_in_pairs(Words words, f64 mean, f64 deviation, Pack<f32, 4>& drawn) {
  const NormalPair mean_pair = pair_of(mean), deviation_pair = pair_of(deviation);
  u32 tails = 0, open = 0;
#pragma unroll
  for (int l = 0; l < 4; ++l) {
    const u32 word = words.word[l];
    const bool tail = word_in_tail(word);
    const bool known = round_normal(normal_pair_in_middle(word), middle_bound, mean_pair, deviation_pair, drawn.lane[l]);
    tails |= tail ? 1u << l : 0;
    open |= tail || known ? 0 : 1u << l;
  }
  while (tails != 0) {
    const int lane = next_lane(tails);
    f32 z;
    const bool known = round_normal(normal_pair_in_tail(word_of(words, lane)), tail_bound, mean_pair, deviation_pair, z);
    put_lane(drawn, lane, z);
    open |= known ? 0 : 1u << lane;
  }
  while (open != 0) {
    const int lane = next_lane(open);
    put_lane(drawn, lane, (f32)cleave::random_bits::scaled(normal_of(word_of(words, lane)), mean, deviation));
  }
}
