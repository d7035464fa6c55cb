/** Statements that are kept in this browser: what was run, and what somebody gave a name. */
import { isObject, listOf, objectOf, parseJson, textOf } from '../../service/json.ts';
import { Store } from '../../service/store.ts';

export interface KeptStatement {
  readonly sql: string;
  /** Given by somebody; of what was run, empty. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface Kept {
  readonly history: readonly KeptStatement[];
  readonly saved: readonly KeptStatement[];
}

const historyMax = 200;
const savedMax = 500;
const charactersMax = 50_000;

const stores = new Map<string, Store<Kept>>();

/** What is kept for a database. */
export function keptFor(database: string): Store<Kept> {
  const known = stores.get(database);
  if (known !== undefined) return known;
  const store = new Store(read(localStorage.getItem(keyOf(database))));
  store.subscribe(() => {
    try {
      localStorage.setItem(keyOf(database), JSON.stringify(store.get()));
    } catch {
      // The browser gives no more room: it is kept until the page goes.
    }
  });
  stores.set(database, store);
  return store;
}

function keyOf(database: string): string {
  return `reducerdb.sql ${database}`;
}

/** Puts a statement at the front of the history, once. */
export function remember(database: string, sql: string): void {
  if (sql.length > charactersMax) return;
  const store = keptFor(database);
  const { history, saved } = store.get();
  const rest = history.filter((entry) => entry.sql !== sql);
  store.set({ saved, history: [{ sql, name: '', at: Date.now() }, ...rest].slice(0, historyMax) });
}

/** Keeps a statement under a name; another one of that name is replaced. */
export function save(database: string, name: string, sql: string): void {
  const store = keptFor(database);
  const { history, saved } = store.get();
  const rest = saved.filter((entry) => entry.name !== name);
  store.set({ history, saved: [{ sql, name, at: Date.now() }, ...rest].slice(0, savedMax) });
}

export function forget(database: string, entry: KeptStatement): void {
  const store = keptFor(database);
  const { history, saved } = store.get();
  const isOther = (each: KeptStatement) => each !== entry;
  store.set({ history: history.filter(isOther), saved: saved.filter(isOther) });
}

/** Adds what was exported elsewhere; gives how many statements there were. */
export function importKept(database: string, text: string): number {
  const added = read(text);
  const store = keptFor(database);
  const { history, saved } = store.get();
  const names = new Set(added.saved.map(({ name }) => name));
  store.set({
    saved: [...added.saved, ...saved.filter(({ name }) => !names.has(name))].slice(0, savedMax),
    history: [...history, ...added.history].slice(0, historyMax),
  });
  return added.saved.length + added.history.length;
}

function read(text: string | null): Kept {
  try {
    const body = objectOf(parseJson(text ?? '{}'));
    return { history: entriesOf(body.history), saved: entriesOf(body.saved) };
  } catch {
    return { history: [], saved: [] };
  }
}

function entriesOf(json: Parameters<typeof listOf>[0]): readonly KeptStatement[] {
  return listOf(json).flatMap((each) => {
    if (!isObject(each) || typeof each.sql !== 'string') return [];
    return [
      { sql: each.sql.slice(0, charactersMax), name: textOf(each.name), at: Number(each.at) },
    ];
  });
}
