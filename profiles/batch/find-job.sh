find_job() { # COMMANDS: asks the batch system with the profile's gpe_find, if it has one
  read_commands "$1"
  gpe_find
}
