import type { Readable, WatchedQuery } from 'reducerdb/client';
import { type Accessor, from, onCleanup } from 'solid-js';
import { createStore, reconcile } from 'solid-js/store';

/** A store of the client as a signal, such as `signalOf(client.state)`. */
export function signalOf<T>(store: Readable<T>): Accessor<T> {
  return from<T>((set) => store.subscribe(() => set(() => store.get())), store.get());
}

/** The rows of a watched query. Of a row that changes, only what is different is rendered again. */
export function rowsOf<R extends object>(query: WatchedQuery<R>, key: keyof R & string): R[] {
  const [rows, setRows] = createStore<R[]>([]);
  const show = () => {
    const copies = query.get().rows.map((row) => ({ ...row }));
    setRows(reconcile(copies, { key }));
  };
  show();
  onCleanup(query.subscribe(show));
  return rows;
}
