gpe_submit() { # SCRIPT NAME=VALUE...: the words are lines of the submit description
  shift
  gpe_print_description "$@" > .gpe/condor.sub && condor_submit -terse .gpe/condor.sub
}
gpe_print_description() { # NAME=VALUE...: initialdir is a literal text but for macros
  gpe_files=$(gpe_list_files) || return
  # HTCondor copies the files as the job begins, and the copies are the user's, whoever wrote them
  gpe_sum=$(cat .gpe/script .gpe/job.sh .gpe/commands.sh | sha256sum)
  gpe_command="cat .gpe/script .gpe/job.sh .gpe/commands.sh | sha256sum | grep -q ^${gpe_sum%% *} ||
 kill -s KILL \$\$; $(gpe_print_starter ./.gpe/script)"
  gpe_command=$(printf '%s\n' "$gpe_command" | tr -d '\n' | sed "s/[\"']/&&/g; s/\\$/\$(DOLLAR)/g")
  cat << END
universe = vanilla
executable = /bin/sh
transfer_executable = false
arguments = "-c '$gpe_command'"
initialdir = $(printf '%s\n' "$PWD" | sed 's/\$/$(DOLLAR)/g')
log = .gpe/condor.log
should_transfer_files = IF_NEEDED
when_to_transfer_output = ON_EXIT
transfer_input_files = $(printf '%s\n' "$gpe_files" | sed 's/\$/$(DOLLAR)/g')
environment = "PATH=/usr/local/bin:/usr/bin:/bin GPE_CLUSTER=\$(Cluster) GPE_INDEX=\$(gpe_index)"
$(printf '%s\n' "$@")
END
  if [ -n "$gpe_array" ]; then
    printf '+GpeIndex = $(gpe_index)\nqueue gpe_index in (%s)\n' \
      "$(gpe_print_indices | paste -s -d ' ' -)"
  else
    printf 'gpe_index =\nqueue\n'
  fi
}
gpe_read_id() { sed -n 's/^\([1-9][0-9]*\)\.[0-9]* - .*/\1/p'; } # 2.0 - 2.1
