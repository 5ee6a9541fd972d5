"""Reports: a module for each subject builds views of `report.model`; `report.terminal` and `report.html` draw them.

Text from users, models and data is shown as text: nothing in it can style, script or hide.
"""
