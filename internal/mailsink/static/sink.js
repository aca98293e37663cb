'use strict';

// Keeps the list up to date with what /events says. The rows come from the
// server, which has escaped them.

const list = document.getElementById('list');
const count = document.getElementById('count');
const lost = document.getElementById('lost');
let newest = list.dataset.newest;

function tidy() {
  const n = list.children.length;
  count.textContent = n === 0 ? '' : n === 1 ? '1 message' : n + ' messages';
  document.title = n === 0 ? 'Mail sink' : '(' + n + ') Mail sink';
  document.getElementById('empty').hidden = n > 0;
  document.getElementById('clear').hidden = n === 0;
}

function connect() {
  const events = new EventSource('/events?after=' + encodeURIComponent(newest));
  events.onopen = () => { lost.hidden = true; };
  events.onerror = () => {
    events.close(); // it would give up on some errors, and forget where we were
    lost.hidden = false;
    setTimeout(connect, 1000);
  };
  events.addEventListener('messages', (event) => {
    newest = event.lastEventId;
    const rows = document.createElement('template');
    rows.innerHTML = event.data;
    for (const row of rows.content.children) row.classList.add('new');
    list.prepend(rows.content);
    tidy();
  });
  events.addEventListener('first', (event) => {
    const first = Number(event.data);
    while (list.lastElementChild && Number(list.lastElementChild.dataset.number) < first) list.lastElementChild.remove();
    tidy();
  });
  events.addEventListener('other', () => location.reload());
}

connect();
