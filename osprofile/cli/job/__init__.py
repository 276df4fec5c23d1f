"""`incarnate job ...`: the verbs of two words. Only `verbs` is loaded until one of them runs."""
