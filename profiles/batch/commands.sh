# a profile that extends this one replaces these
gpe_submit() { echo 'the profile does not define gpe_submit' >&2; return 1; }
gpe_list() { echo 'the profile does not define gpe_list' >&2; return 1; }
gpe_cancel() { echo 'the profile does not define gpe_cancel' >&2; return 1; }
