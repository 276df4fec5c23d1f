# commands.sh: the commands of the batch system, as shell functions. A profile that extends batch
# defines them; its README describes each.
