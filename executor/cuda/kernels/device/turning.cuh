// Transposition of a square of elements whose rows are words: element c of word r becomes element r of word c.

template <class Word>
inline void turn(Word (&)[1]) {}
/// Transposes elements of two bytes.
inline void turn(u32 (&words)[2]) {
  const u32 a = words[0], b = words[1];
  words[0] = __byte_perm(a, b, 0x5410);
  words[1] = __byte_perm(a, b, 0x7632);
}
/// Transposes elements of one byte.
inline void turn(u32 (&words)[4]) {
  const u32 a = __byte_perm(words[0], words[1], 0x5140), b = __byte_perm(words[2], words[3], 0x5140);
  const u32 c = __byte_perm(words[0], words[1], 0x7362), d = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(a, b, 0x5410);
  words[1] = __byte_perm(a, b, 0x7632);
  words[2] = __byte_perm(c, d, 0x5410);
  words[3] = __byte_perm(c, d, 0x7632);
}
