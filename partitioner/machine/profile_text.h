// The text of a profile's file (Profile::save), for profiles inside of other files.
#pragma once

#include <string>

#include "graph/base/result.h"
#include "partitioner/machine/profile.h"

namespace cleave {

std::string profile_text(const Profile& profile);
/// `path` is for errors.
Result<Profile> parse_profile(const std::string& text, const std::string& path);

}  // namespace cleave
