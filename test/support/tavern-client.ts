import * as peerTwo from 'spacetimedb';
import * as peerOne from 'spacetimedb-v1';
import * as ours from '../../src/client/index.ts';
import {
  type PeerBuilder,
  type PeerConnection,
  type PeerLibrary,
  tavernBindings,
} from '../fixtures/bindings/tavern.ts';

export interface Library {
  readonly title: string;
  readonly version: 1 | 2;
  readonly library: PeerLibrary;
}

/** The published clients, black boxes; and that of this product, with the same bindings. */
export const published: readonly Library[] = [
  {
    title: 'the published client, version 2',
    version: 2,
    library: peerTwo as unknown as PeerLibrary,
  },
  {
    title: 'the published client, version 1',
    version: 1,
    library: peerOne as unknown as PeerLibrary,
  },
];
export const own: Library = {
  ...{ title: 'the client of this product', version: 2 },
  library: ours as unknown as PeerLibrary,
};

/** The client of this product goes on by itself, if it is asked to. */
type Lasting = PeerBuilder & { withReconnect?(): PeerBuilder };

export interface TavernClient {
  readonly conn: PeerConnection;
  readonly identity: string;
  readonly token: string;
  /** Resolves when the client says that it is disconnected. */
  readonly gone: Promise<void>;
}

export interface Connecting {
  readonly uri: string;
  readonly database: string;
  readonly token?: string | undefined;
}

/** Connects, and waits until the client says that it is connected. */
export function connect(
  { version, library }: Library,
  { uri, database, token }: Connecting,
): Promise<TavernClient> {
  const first: Lasting = tavernBindings(library, version);
  const builder = first.withReconnect?.() ?? first;
  const named = builder.withModuleName?.(database) ?? builder.withDatabaseName?.(database);
  return new Promise((resolve, reject) => {
    let tell = (): void => undefined;
    const gone = new Promise<void>((told) => {
      tell = told;
    });
    named
      ?.withUri(uri)
      .withToken(token)
      .onConnect((conn, identity, issued) => {
        resolve({ conn, identity: identity.toHexString(), token: issued, gone });
      })
      .onConnectError((_, error) => reject(error))
      .onDisconnect(() => tell())
      .build();
  });
}

/** Subscribes to all persons, and resolves when their rows are there. */
export function subscribe(conn: PeerConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    conn
      .subscriptionBuilder()
      .onApplied(() => resolve())
      .onError(({ event }) => reject(event ?? new Error('refused')))
      .subscribe('SELECT * FROM person');
  });
}

export function names(conn: PeerConnection): string[] {
  return Array.from(conn.db.person.iter(), ({ id, name }) => `${id} ${name}`).sort();
}
