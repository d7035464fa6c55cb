import { useEffect, useState } from 'react';
import { connect } from 'reducerdb/client';
import { currentToken, session } from '../service/session-token.ts';
import { Store, useStore } from '../service/store.ts';

// The console knows no module: its queries are texts, and its rows are read by their names.
type AnyModule = Record<string, never>;

/** A connection to a database, by the public client. */
export type Connection = ReturnType<typeof connect<AnyModule>>;

interface Kept {
  readonly connection: Connection;
  users: number;
}

const kept = new Map<string, Kept>();
/** The connection that is shown in the top line: that of the page in view. */
export const shownConnection = new Store<Connection | null>(null);
/** How long a connection without users stays, for the next page of the same database. */
const keepMillis = 3_000;

/** The connection to `database`, shared by all that show something of it; `null` at first. */
export function useConnection(database: string): Connection | null {
  const current = useStore(session);
  const who = current.kind === 'token' ? current.token : '';
  const [connection, setConnection] = useState<Connection | null>(null);
  useEffect(() => {
    const key = `${database}\n${who}`;
    const entry = kept.get(key) ?? { connection: open(database), users: 0 };
    kept.set(key, entry);
    entry.users += 1;
    setConnection(entry.connection);
    shownConnection.set(entry.connection);
    return () => {
      entry.users -= 1;
      setTimeout(() => leave(key, entry), keepMillis);
    };
  }, [database, who]);
  return connection;
}

function open(database: string): Connection {
  return connect<AnyModule>({
    uri: location.origin,
    database,
    token: currentToken,
    reconnect: { maxDelayMillis: 5_000 },
  });
}

function leave(key: string, entry: Kept): void {
  if (entry.users > 0 || kept.get(key) !== entry) return;
  kept.delete(key);
  entry.connection.disconnect();
  if (shownConnection.get() === entry.connection) shownConnection.set(null);
}
