: # a profile that extends this one defines its commands here
