// The whole script of the customer form: htmx, and what htmx leaves to us.
import "htmx.org/dist/htmx.esm.min.js";
import "./upload.js";
import "./errors.js";
