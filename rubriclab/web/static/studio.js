// What all pages of the studio share.
