// Keeps a screen live: the server sends its content whenever it has changed.
'use strict';
(() => {
  const content = document.getElementById('content');
  const pause = document.getElementById('pause');
  const status = document.getElementById('status');

  // The first box checks the boxes of all rows that are shown, also where it was checked before this ran.
  const pickAll = box => { for (const one of content.querySelectorAll('input[name=pick]')) one.checked = box.checked; };
  content.addEventListener('change', event => { if (event.target.id === 'pick-all') pickAll(event.target); });
  const first = document.getElementById('pick-all');
  if (first?.checked) pickAll(first);

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
  const typing = () => content.contains(document.activeElement) && document.activeElement.matches('input:not([type=checkbox]), select, textarea');

  // morph gives an element the children of another, and keeps its own where they stay: by their ids, or in their order.
  // So the focus, what is checked and what is opened stay too.
  const morph = (into, from) => {
    const wanted = new Set([...from.children].map(child => child.id));
    for (const child of [...into.children]) if (child.id && !wanted.has(child.id)) child.remove();
    let next = into.firstChild;
    for (const fresh of [...from.childNodes]) {
      const stays = fresh.id ? [...into.children].find(child => child.id === fresh.id) : next?.id ? null : next;
      if (!stays || stays.nodeName !== fresh.nodeName) { into.insertBefore(fresh, next); continue; }
      if (stays === next) next = next.nextSibling; else into.insertBefore(stays, next);
      if (stays.isEqualNode(fresh)) continue;
      if (stays.nodeType !== Node.ELEMENT_NODE) { stays.nodeValue = fresh.nodeValue; continue; }
      for (const { name } of [...stays.attributes]) if (name !== 'open' && !fresh.hasAttribute(name)) stays.removeAttribute(name);
      for (const { name, value } of fresh.attributes) if (stays.getAttribute(name) !== value) stays.setAttribute(name, value);
      morph(stays, fresh);
    }
    while (next) { const gone = next; next = next.nextSibling; gone.remove(); }
  };
  const take = html => {
    if (selecting() || typing()) { late = html; return; }
    late = null;
    const fresh = document.createElement('template');
    fresh.innerHTML = html;
    morph(content, fresh.content);
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
  const settle = () => { if (late && !selecting() && !typing()) take(late); };
  document.addEventListener('selectionchange', settle);
  content.addEventListener('focusout', () => setTimeout(settle));
  open();
})();
