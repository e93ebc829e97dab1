// Keeps a screen live: the server sends its content whenever it has changed.
'use strict';
(() => {
  const content = document.getElementById('content');
  const pause = document.getElementById('pause');
  const status = document.getElementById('status');
  const address = content.dataset.live;
  if (!address) return;
  let source = null;
  let paused = false;
  // By this the server knows the windows of one browser, which has few connections for all of them.
  const browser = (() => {
    try { return localStorage['streamsort-browser'] ||= crypto.getRandomValues(new Uint32Array(4)).join('-'); } catch { return ''; }
  })();
  let late = null; // what came while a text was selected

  const say = text => { if (status.textContent !== text) status.textContent = text; };
  const selecting = () => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && content.contains(selection.anchorNode);
  };
  const typing = () => content.contains(document.activeElement) && document.activeElement.matches('input, select, textarea');
  const swap = html => htmx.swap({ text: html, target: content, swap: 'innerMorph' });
  const take = html => {
    if (selecting() || typing()) { late = html; return; }
    late = null;
    swap(html);
  };

  const open = () => {
    if (source || paused || document.hidden) return;
    const opened = source = new EventSource(address + '&browser=' + browser);
    source.addEventListener('content', event => { say('live'); document.getElementById('problem')?.remove(); take(event.data); });
    source.addEventListener('turn', () => { close(); setTimeout(open, 2000); });
    source.addEventListener('fault', event => say(event.data));
    source.onerror = () => {
      say('not reached: trying again');
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
      close(); // what answers in the page's place, such as a proxy with a 502, ends a source for good
      setTimeout(open, 2000);
    };
  };
  const close = () => { if (source) source.close(); source = null; };

  pause.hidden = false;
  pause.addEventListener('click', () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    pause.textContent = paused ? 'Go on' : 'Pause';
    if (paused) { close(); say('paused'); } else { say('live'); open(); }
  });
  document.addEventListener('visibilitychange', () => { if (document.hidden) close(); else open(); });
  document.addEventListener('selectionchange', () => { if (late && !selecting() && !typing()) take(late); });
  content.addEventListener('focusout', () => setTimeout(() => { if (late && !selecting() && !typing()) take(late); }));
  open();
})();
