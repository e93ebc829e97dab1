// Runs before htmx, which gives parseHTMLUnsafe options: browsers of 2025 (Chromium 143) refuse them. Without that
// function htmx takes DOMParser, which is the same to it.
'use strict';
try { Document.parseHTMLUnsafe?.('', {}); } catch { Document.parseHTMLUnsafe = undefined; }
