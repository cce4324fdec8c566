// The script of the customer form: htmx, and what htmx lacks.
import "htmx.org/dist/htmx.esm.min.js";
import "./autosave.js";
import "./kinds.js";
import "./later.js";
import "./conversion.js";
import "./date.js";
import "./country.js";
import "./zone.js";
import "./upload.js";
import "./errors.js";
