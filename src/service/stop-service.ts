import type { Server } from 'node:http';

/**
 * Takes no new connections, closes idle ones, and waits for the requests that were accepted; after
 * `millis` it cuts what is left, such as a client that follows a log.
 */
export function closeServer(server: Server, millis: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), millis);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
