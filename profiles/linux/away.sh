# ID: is the directory of the job, or of its array, on a file system that is not there? If it was
# removed, the one that it was in is left, and its user can write there; a mount point is root's.
gpe_is_dir_away() {
  gpe_job_dir "$1" || :
  gpe_link=$gpe_jobs/$1
  [ -L "$gpe_link" ] || gpe_link=$gpe_jobs/$gpe_a
  [ -L "$gpe_link" ] && [ ! -d "$gpe_link" ] || return
  gpe_link=$(readlink -- "$gpe_link") && [ ! -w "${gpe_link%/*}/." ]
}
# ID: is it a job, or a task of one, of this profile? One that is away may be.
gpe_is_ours() (
  gpe_is_dir_away "$1" || { gpe_job_dir "$1" && [ -d "$gpe_dir" ]; }
)
