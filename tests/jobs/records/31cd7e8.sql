BEGIN TRANSACTION;
CREATE TABLE job (number INTEGER PRIMARY KEY, target TEXT NOT NULL, directory TEXT NOT NULL, job_id TEXT, key TEXT, name TEXT NOT NULL DEFAULT '', script TEXT, owner TEXT, state TEXT NOT NULL DEFAULT 'QUEUED', word TEXT NOT NULL DEFAULT '', exit_code INTEGER, signal INTEGER, cause TEXT, hosts TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', submitted REAL, accepted REAL, started REAL, ended REAL, end_reported INTEGER, elapsed REAL, cpu_time REAL, max_memory INTEGER, energy REAL, walltime REAL, aborted REAL, missing_since REAL, missing_boot TEXT, missing_last REAL, array_spec TEXT NOT NULL DEFAULT '', array_id TEXT, array_index INTEGER, stdout TEXT NOT NULL DEFAULT '', stderr TEXT NOT NULL DEFAULT '', history TEXT NOT NULL DEFAULT '', remove_at REAL);
INSERT INTO "job" VALUES(1,'linux','@JOBS@/root/20261128-104651-b3889f38549a15c2','18525-182435-@BOOT8@','done','greeting',NULL,NULL,'DONE','exited',3,NULL,NULL,'@HOST@','',1.79586281119194412234e+09,1.79586281175083804133e+09,1795862811.731,1795862811.791,1,0.06,0.0,NULL,NULL,600.0,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','DONE 1795862811.791
',NULL);
INSERT INTO "job" VALUES(2,'linux','@JOBS@/root/20261128-104652-4d7ba66262d4e540','19414-182512-@BOOT8@','killed','',NULL,NULL,'FAILED','exited',NULL,9,'SIGNAL','@HOST@','',1.79586281235095453264e+09,1.79586281250297451024e+09,1795862812.493,1795862812.533,1,0.04,0.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','FAILED 1795862812.533
',NULL);
INSERT INTO "job" VALUES(3,'linux','@JOBS@/root/20261128-104653-e7ecf8a5b182ef14','19883-182577-@BOOT8@','cancelled','',NULL,NULL,'REMOVED','removed',NULL,NULL,'USER','@HOST@','',1.7958628130274555683e+09,1.79586281318945336334e+09,1795862813.146,1795862815.076,1,1.93,0.0,NULL,NULL,NULL,1.79586281552902650828e+09,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','REMOVED 1795862815.076
',NULL);
INSERT INTO "job" VALUES(4,'linux','@JOBS@/root/20261128-104653-a548ac5b6a85bf31','20743-182677-@BOOT8@','array','',NULL,NULL,'FAILED','',NULL,NULL,NULL,'','0 of 3 tasks ended with 0; exit 1: 1; exit 2: 1; exit 3: 1',1.79586281404020214075e+09,1.79586281423060822488e+09,1795862814.267,1795862814.374,1,NULL,0.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1-3',NULL,NULL,'stdout','stderr','FAILED 1795862814.374
',NULL);
INSERT INTO "job" VALUES(5,'linux','task:4:1','20743-182677-@BOOT8@_1',NULL,'',NULL,NULL,'DONE','exited',1,NULL,NULL,'@HOST@','',1.79586281404020214075e+09,1.79586281423060822488e+09,1795862814.309,1795862814.319,1,0.01,0.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','20743-182677-@BOOT8@',1,'','','DONE 1795862814.319
',NULL);
INSERT INTO "job" VALUES(6,'linux','task:4:2','20743-182677-@BOOT8@_2',NULL,'',NULL,NULL,'DONE','exited',2,NULL,NULL,'@HOST@','',1.79586281404020214075e+09,1.79586281423060822488e+09,1795862814.267,1795862814.297,1,0.03,0.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','20743-182677-@BOOT8@',2,'','','DONE 1795862814.297
',NULL);
INSERT INTO "job" VALUES(7,'linux','task:4:3','20743-182677-@BOOT8@_3',NULL,'',NULL,NULL,'DONE','exited',3,NULL,NULL,'@HOST@','',1.79586281404020214075e+09,1.79586281423060822488e+09,1795862814.354,1795862814.374,1,0.02,0.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','20743-182677-@BOOT8@',3,'','','DONE 1795862814.374
',NULL);
INSERT INTO "job" VALUES(8,'linux','@JOBS@/root/20261128-104659-b28c043a2e2fcf2d','26233-183245-@BOOT8@','running','',NULL,NULL,'RUNNING','running',NULL,NULL,NULL,'@HOST@','',1.79586281966233086582e+09,1795862819.81758,1.79586281997936892513e+09,NULL,0,11.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','RUNNING 1795862819.979
',NULL);
INSERT INTO "job" VALUES(9,'linux','@JOBS@/root/20261128-104700-b9a2c5632b90f549',NULL,'cut','','[ -f "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh >&2; exit 72; }
[ -f "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh >&2; exit 72; }
# Linux: start this job, once for its working directory, and print its id
sh "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh --directory ''@JOBS@/root/20261128-104700-b9a2c5632b90f549'' \
  --profile ''linux'' --id-pattern ''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?'' \
  --job "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh start_session <<''END_OF_JOB_b4cde207a492''
#!/bin/sh
gpe_profile=''linux''
cd -- ''@JOBS@/root/20261128-104700-b9a2c5632b90f549'' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
. ./.gpe/job.sh
gpe_begin_job
( gpe_open_program STDIN=''/dev/null'' STDOUT=''stdout'' STDERR=''stderr'' DIRECTORY=''@HOME@''
gpe_run -- ''sh'' ''-c'' ''echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 4''
)
gpe_end_job
END_OF_JOB_b4cde207a492
','@HOST@ @BOOT@ 26347 183260','QUEUED','',NULL,NULL,NULL,'','',1.79586282105627775187e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(10,'linux','@JOBS@/root/20261128-104702-2ba4bf9d433f8e29',NULL,'cut-array','','[ -f "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh >&2; exit 72; }
[ -f "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh >&2; exit 72; }
# Linux: start this job, once for its working directory, and print its id
sh "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh --directory ''@JOBS@/root/20261128-104702-2ba4bf9d433f8e29'' \
  --profile ''linux'' --id-pattern ''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?'' \
  --job "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh start_session <<''END_OF_JOB_e34f27942c5a''
#!/bin/sh
gpe_profile=''linux'' gpe_array=''1-2''
cd -- ''@JOBS@/root/20261128-104702-2ba4bf9d433f8e29'' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
. ./.gpe/job.sh
gpe_begin_job
( gpe_open_program STDIN=''/dev/null'' STDOUT=''stdout'' STDERR=''stderr'' DIRECTORY=''@HOME@''
gpe_run -- ''sh'' ''-c'' ''echo "task $GPE_ARRAY_INDEX"; while [ ! -e go ]; do sleep 0.05; done''
)
gpe_end_job
END_OF_JOB_e34f27942c5a
','@HOST@ @BOOT@ 27710 183379','QUEUED','',NULL,NULL,NULL,'','',1.79586282240919947617e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1-2',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(11,'linux','@JOBS@/root/20261128-104703-cc461ddbceb66e00',NULL,'cut-waiting','','[ -f "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh >&2; exit 72; }
[ -f "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh >&2; exit 72; }
# Linux: start this job, once for its working directory, and print its id
sh "$HOME"/.gpe/bin/submit.bf81375611e549e5.sh --directory ''@JOBS@/root/20261128-104703-cc461ddbceb66e00'' \
  --profile ''linux'' --id-pattern ''[1-9][0-9]*-[0-9]+-[0-9a-f]{8}(_[0-9]+)?'' \
  --job "$HOME"/.gpe/bin/job.a6da6cbd982ea81f.sh start_session <<''END_OF_JOB_23787718d64c''
#!/bin/sh
gpe_profile=''linux'' gpe_start_time=''2037-01-31T08:00''
cd -- ''@JOBS@/root/20261128-104703-cc461ddbceb66e00'' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
. ./.gpe/job.sh
gpe_begin_job
( gpe_open_program STDIN=''/dev/null'' STDOUT=''stdout'' STDERR=''stderr'' DIRECTORY=''@HOME@''
gpe_run -- ''true''
)
gpe_end_job
END_OF_JOB_23787718d64c
','@HOST@ @BOOT@ 29124 183513','QUEUED','',NULL,NULL,NULL,'','',1.79586282365523600577e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(12,'slurm','@JOBS@/root/20261128-104705-cfd5a41ff5e12677','11','slurm-done','',NULL,NULL,'DONE','COMPLETED',0,NULL,NULL,'n1','',1.79586282509876656531e+09,1.79586282612222480773e+09,1.79586282905171895022e+09,1.79586283105171895025e+09,1,2.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','DONE 1795862831.052
',NULL);
INSERT INTO "job" VALUES(13,'slurm','@JOBS@/root/20261128-104707-6367a13d8b826502','12','slurm-limit','',NULL,NULL,'FAILED','TIMEOUT',NULL,NULL,'TIME','n1','TimeLimit',1.79586282722851657868e+09,1.79586282741200375552e+09,1.79586282905171895022e+09,1.79586283105171895025e+09,1,2.0,NULL,NULL,NULL,60.0,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','FAILED 1795862831.052
',NULL);
INSERT INTO "job" VALUES(14,'slurm','@JOBS@/root/20261128-104708-1147f1af79d02923','13','slurm-queued','',NULL,NULL,'QUEUED','',NULL,NULL,NULL,'','',1.79586282825608611109e+09,1.79586282845911908152e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(15,'slurm','@JOBS@/root/20261128-104709-6943aa748ec19f72','14','slurm-running','',NULL,NULL,'RUNNING','RUNNING',NULL,NULL,NULL,'n1','',1.79586282928679132463e+09,1.79586282943330812454e+09,1.79586282928679132463e+09,NULL,0,2.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','RUNNING 1795862829.287
',NULL);
INSERT INTO "job" VALUES(16,'slurm','@JOBS@/root/20261128-104709-e6feeda9b4c72d87','15','slurm-array','',NULL,NULL,'QUEUED','',NULL,NULL,NULL,'','',1.79586282999574136732e+09,1.79586283020309448246e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1-2',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(17,'slurm','task:16:1','15_1',NULL,'',NULL,NULL,'QUEUED','',NULL,NULL,NULL,'','',1.79586282999574136732e+09,1.79586283020309448246e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','15',1,'','','',NULL);
INSERT INTO "job" VALUES(18,'slurm','task:16:2','15_2',NULL,'',NULL,NULL,'QUEUED','',NULL,NULL,NULL,'','',1.79586282999574136732e+09,1.79586283020309448246e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','15',2,'','','',NULL);
INSERT INTO "job" VALUES(19,'slurm','@JOBS@/root/20261128-104712-28eef80b93489f58',NULL,'slurm-cut','','[ -f "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh >&2; exit 72; }
[ -f "$HOME"/.gpe/bin/job.177f416417640712.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/job.177f416417640712.sh >&2; exit 72; }
# Slurm: submit this job with sbatch, once for its working directory, and print its id
sh "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh --directory ''@JOBS@/root/20261128-104712-28eef80b93489f58'' \
  --profile ''slurm'' --id-pattern ''[1-9][0-9]*([_+][0-9]+)?'' --job "$HOME"/.gpe/bin/job.177f416417640712.sh \
  sbatch --parsable --ignore-pbs <<''END_OF_JOB_ee0305662a6a''
#!/bin/sh
#SBATCH --output=/dev/null
#SBATCH --job-name=gpe_job
cd -- ''@JOBS@/root/20261128-104712-28eef80b93489f58'' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
. ./.gpe/job.sh
gpe_begin_job
( gpe_open_program STDIN=''/dev/null'' STDOUT=''stdout'' STDERR=''stderr'' DIRECTORY=''@HOME@''
gpe_run -- ''sh'' ''-c'' ''echo begun; exit 5''
)
gpe_end_job
END_OF_JOB_ee0305662a6a
','@HOST@ @BOOT@ 6212 184475','QUEUED','',NULL,NULL,NULL,'','',1.79586283298344111442e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,'stdout','stderr','',NULL);
INSERT INTO "job" VALUES(20,'slurm','@JOBS@/root/20261128-104713-81371de857202ad2',NULL,'slurm-cut-array','','[ -f "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh >&2; exit 72; }
[ -f "$HOME"/.gpe/bin/job.177f416417640712.sh ] || { printf ''%s is not deployed\n'' "$HOME"/.gpe/bin/job.177f416417640712.sh >&2; exit 72; }
# Slurm: submit this job with sbatch, once for its working directory, and print its id
sh "$HOME"/.gpe/bin/submit.82b47ab249e3b283.sh --directory ''@JOBS@/root/20261128-104713-81371de857202ad2'' \
  --profile ''slurm'' --id-pattern ''[1-9][0-9]*([_+][0-9]+)?'' --job "$HOME"/.gpe/bin/job.177f416417640712.sh \
  sbatch --parsable --ignore-pbs <<''END_OF_JOB_872bf6740c21''
#!/bin/sh
#SBATCH --output=/dev/null
#SBATCH --job-name=gpe_job
#SBATCH --array=1-2
gpe_array=''1-2'' 
cd -- ''@JOBS@/root/20261128-104713-81371de857202ad2'' && [ -O . ] && [ -r .gpe/job.sh ] || kill -s KILL "$$"
. ./.gpe/job.sh
gpe_begin_job
( gpe_open_program STDIN=''/dev/null'' STDOUT=''stdout'' STDERR=''stderr'' DIRECTORY=''@HOME@''
gpe_run -- ''sh'' ''-c'' ''exit "$GPE_ARRAY_INDEX"''
)
gpe_end_job
END_OF_JOB_872bf6740c21
','@HOST@ @BOOT@ 7304 184572','QUEUED','',NULL,NULL,NULL,'','',1.79586283363620519636e+09,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1-2',NULL,NULL,'stdout','stderr','',NULL);
CREATE TABLE job_file (path TEXT PRIMARY KEY, target TEXT NOT NULL, keys TEXT NOT NULL);
CREATE TABLE next_turn (target TEXT PRIMARY KEY, time REAL NOT NULL);
CREATE TABLE profile_file (name TEXT PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE request (number INTEGER PRIMARY KEY, directory TEXT NOT NULL, content TEXT NOT NULL);
INSERT INTO "request" VALUES(1,'@JOBS@/root/20261128-104651-b3889f38549a15c2','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo \"one two\"; exit 3''", "JOB_NAME": "greeting", "WALLTIME": "600", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(2,'@JOBS@/root/20261128-104652-4d7ba66262d4e540','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''kill -s KILL \"$$\"''", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(3,'@JOBS@/root/20261128-104653-e7ecf8a5b182ef14','{"fields": {"EXECUTABLE": "sleep", "ARGUMENTS": "''1000''", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(4,'@JOBS@/root/20261128-104653-a548ac5b6a85bf31','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''exit \"$GPE_ARRAY_INDEX\"''", "ARRAY": "1-3", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(8,'@JOBS@/root/20261128-104659-b28c043a2e2fcf2d','{"fields": {"EXECUTABLE": "sleep", "ARGUMENTS": "''1000''", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(9,'@JOBS@/root/20261128-104700-b9a2c5632b90f549','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 4''", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(10,'@JOBS@/root/20261128-104702-2ba4bf9d433f8e29','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo \"task $GPE_ARRAY_INDEX\"; while [ ! -e go ]; do sleep 0.05; done''", "ARRAY": "1-2", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(11,'@JOBS@/root/20261128-104703-cc461ddbceb66e00','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@", "START_TIME": "2037-01-31T08:00"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(12,'@JOBS@/root/20261128-104705-cfd5a41ff5e12677','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(13,'@JOBS@/root/20261128-104707-6367a13d8b826502','{"fields": {"EXECUTABLE": "true", "WALLTIME": "60", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(14,'@JOBS@/root/20261128-104708-1147f1af79d02923','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(15,'@JOBS@/root/20261128-104709-6943aa748ec19f72','{"fields": {"EXECUTABLE": "true", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(16,'@JOBS@/root/20261128-104709-e6feeda9b4c72d87','{"fields": {"EXECUTABLE": "true", "ARRAY": "1-2", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(19,'@JOBS@/root/20261128-104712-28eef80b93489f58','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''echo begun; exit 5''", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
INSERT INTO "request" VALUES(20,'@JOBS@/root/20261128-104713-81371de857202ad2','{"fields": {"EXECUTABLE": "sh", "ARGUMENTS": "''-c'' ''exit \"$GPE_ARRAY_INDEX\"''", "ARRAY": "1-2", "DIRECTORY": "@HOME@"}, "application": null, "context": {"USER_NAME": "root"}}');
CREATE UNIQUE INDEX job_directory ON job (target, directory);
CREATE UNIQUE INDEX job_id ON job (target, job_id) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX job_key ON job (target, key) WHERE key IS NOT NULL;
CREATE INDEX job_array ON job (target, array_id) WHERE array_id IS NOT NULL;
CREATE INDEX job_unsubmitted ON job (target) WHERE job_id IS NULL;
CREATE INDEX job_live ON job (target) WHERE array_id IS NULL AND state NOT IN ('DONE', 'FAILED', 'REMOVED', 'LOST');
CREATE INDEX job_ended ON job (target, coalesce(ended, submitted)) WHERE array_id IS NULL AND state IN ('DONE', 'FAILED', 'REMOVED', 'LOST');
CREATE INDEX job_removal ON job (target, remove_at) WHERE remove_at IS NOT NULL;
CREATE TRIGGER request_deletion AFTER DELETE ON job BEGIN DELETE FROM request WHERE number = OLD.number; END;
COMMIT;
PRAGMA user_version = 4;
