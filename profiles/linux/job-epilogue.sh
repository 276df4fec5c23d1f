)
<SITE_CLEANUP/(?s)^.+\z/gpe_keep_status>
<SITE_CLEANUP/(?s)^.+\z/( : # in a shell of its own: it may exit>
<SITE_CLEANUP/(?s)^(.+)\z/$1>
<SITE_CLEANUP/(?s)^.+\z/)>
<SITE_SETUP/(?s)^.+\z/gpe_leave_site )>
gpe_end_job
