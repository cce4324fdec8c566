// The script of the dashboard: htmx, and what htmx lacks.
import "htmx.org/dist/htmx.esm.min.js";
import "./copy.js";
import "./export.js";
import "./once.js";
import "./passkey.js";
import "./theme.js";
import "./unsaved.js";
