import type { TableRow } from 'reducerdb/client';
import { client, type Module } from './database.ts';

type Note = TableRow<Module, 'note'>;
type Attempt = (call: Promise<unknown>) => Promise<boolean>;

/** Keeps a list as the notes are, newest first; an item is made once and then brought up to date. */
export function showNotes(list: HTMLElement, attempt: Attempt): void {
  const notes = client.watch((from) => from.note, { sort: (a, b) => Number(b.id - a.id) });
  const items = new Map<bigint, Item>();
  notes.onChange((changes) => {
    for (const change of changes) {
      if (change.kind !== 'delete') continue;
      items.get(change.row.id)?.element.remove();
      items.delete(change.row.id);
    }
  });
  notes.subscribe(() => {
    for (const [place, note] of notes.get().rows.entries()) {
      const item = items.get(note.id) ?? newItem(note, attempt);
      items.set(note.id, item);
      item.likes.textContent = `♥ ${note.likes}`;
      const there = list.children[place] ?? null;
      if (there !== item.element) list.insertBefore(item.element, there);
    }
  });
}

interface Item {
  readonly element: HTMLElement;
  readonly likes: HTMLElement;
}

function newItem({ id, author, text }: Note, attempt: Attempt): Item {
  const element = document.createElement('li');
  const said = document.createElement('span');
  said.className = 'text';
  said.textContent = text;
  const likes = button('', () => attempt(client.reducers.likeNote({ id })));
  likes.ariaLabel = 'Like';
  element.append(said, likes);
  if (client.identity !== undefined && author.equals(client.identity)) {
    element.append(button('Remove', () => attempt(client.reducers.removeNote({ id }))));
  }
  return { element, likes };
}

function button(text: string, onClick: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.addEventListener('click', onClick);
  return made;
}
