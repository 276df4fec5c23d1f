#!/bin/sh
<OPTIONS/(?s)^(.+)\z/# $1>
<EXTRA_DIRECTIVES/(?s)^(.+)\z/$1>
gpe_profile='<PROFILE_NAME/'/'\\''>'<CPUTIME/(?s)^(.+)\z/ gpe_cputime=$1><NODES/(?s)^(.+)\z/ gpe_nodes=$1><ARRAY:QUOTED/(?s)^(.+)\z/ gpe_array=$1><DEPENDENCY:QUOTED/(?s)^(.+)\z/ gpe_dependency=$1><START_TIME:QUOTED/(?s)^(.+)\z/ gpe_start_time=$1><LIMIT_SIGNAL/(?s)^(.+)@(.+)\z/ gpe_signal=$1 gpe_signal_time=$2>
