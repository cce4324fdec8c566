// The script of every page of the dashboard.
import "./access.js";
import "./calendar.js";
import "./chart.js";
import "./colour.js";
import "./copy.js";
import "./export.js";
import "./list.js";
import "./once.js";
import "./passkey.js";
import "./search.js";
import "./shortcuts.js";
import "./theme.js";
import "./unsaved.js";
