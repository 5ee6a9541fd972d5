"""What people look at: views for a terminal (`report.terminal`) and a report as one HTML file (`report.html`).

Both show text that comes from users, models and data. It is shown as text: nothing in it can style, script or hide.
"""
