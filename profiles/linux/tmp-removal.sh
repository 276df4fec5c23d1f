rm -rf -- "$gpe_tmp" 2> /dev/null || { chmod -R u+rwx -- "$gpe_tmp"; rm -rf -- "$gpe_tmp"; }
