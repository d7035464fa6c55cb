import { resumableProtocol } from '../protocol/versions.ts';
import { asError } from './errors.ts';
import { type CompressionChoice, closeErrorOf, errorOf, type OpenSocket } from './socket.ts';

/**
 * The arguments of a socket factory.
 *
 * @example
 * ```ts
 * const placeOf = ({ url, nameOrAddress }: SocketFactoryArgs) => `${url.host}/${nameOrAddress}`;
 * ```
 */
export interface SocketFactoryArgs {
  readonly url: URL;
  readonly nameOrAddress: string;
  readonly wsProtocol: string[];
  readonly authToken?: string | undefined;
  readonly compression: CompressionChoice;
  readonly lightMode: boolean;
  readonly confirmedReads?: boolean | undefined;
}

/**
 * A socket provided by the program. Its messages are decompressed and have no tag.
 *
 * @example
 * ```ts
 * const endNow = (adapter: SocketAdapter) => adapter.close();
 * ```
 */
export interface SocketAdapter {
  readonly protocol: string;
  readonly readyState?: number;
  send(bytes: Uint8Array): void;
  close(): void;
  set onopen(handler: (event?: any) => void);
  set onmessage(handler: (message: { data: Uint8Array }) => void);
  set onclose(handler: (event?: any) => void);
  set onerror(handler: (event?: any) => void);
}

/**
 * Makes the sockets of a connection.
 *
 * @example
 * ```ts
 * const refuse: SocketFactory = async ({ url }) => {
 *   throw new Error(`no way to ${url.host}`);
 * };
 * ```
 */
export type SocketFactory = (args: SocketFactoryArgs) => Promise<SocketAdapter>;

/** Sockets of a program's own factory. */
export function factorySockets(factory: SocketFactory): OpenSocket {
  return (request, listener) => {
    const { uri, database, protocols, token, compression, lightMode, confirmedReads } = request;
    let adapter: SocketAdapter | undefined;
    let isCancelled = false;
    let error: Error | undefined;
    const isOpen = 1;
    const begin = (made: SocketAdapter) => {
      if (isCancelled) {
        // A socket that is closed before it is open may say so, and nobody else listens.
        made.onerror = () => undefined;
        made.close();
        return;
      }
      adapter = made;
      let wasOpened = false;
      const opened = () => {
        if (!wasOpened) listener.opened(made.protocol);
        wasOpened = true;
      };
      made.onopen = opened;
      made.onmessage = ({ data }) => listener.frame(tagged(data));
      made.onerror = (event) => {
        error = errorOf(event);
      };
      made.onclose = (event) => listener.closed(error ?? closeErrorOf(event));
      if (made.readyState === isOpen) opened();
    };
    // An error of the factory, thrown or through its promise, is a failed attempt.
    const make = async () =>
      factory({
        url: uri,
        nameOrAddress: database,
        // Its frames begin with more than a tag, which such a socket does not expect.
        wsProtocol: protocols.filter((protocol) => protocol !== resumableProtocol),
        authToken: token,
        compression,
        lightMode,
        confirmedReads,
      });
    make()
      .then(begin)
      .catch((failure: unknown) => listener.closed(asError(failure)));
    return {
      send: (bytes) => adapter?.send(bytes),
      close: () => {
        isCancelled = true;
        adapter?.close();
      },
    };
  };
}

/** A frame as the server would send it: prefixed with the tag for "not compressed". */
function tagged(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(body.length + 1);
  frame.set(body, 1);
  return frame;
}
