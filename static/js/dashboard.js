// The whole script of the dashboard: htmx, and what htmx leaves to us.
import "htmx.org/dist/htmx.esm.min.js";
import "./copy.js";
import "./export.js";
import "./once.js";
import "./passkey.js";
import "./unsaved.js";
