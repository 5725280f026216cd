"""How many drives a need takes: `needs` reads what is asked, `drive` what one drive gives, `size` counts."""
