import { createServer } from 'node:net';
import type { ListenAddress } from './configuration.ts';
import { ConfigurationError } from './configuration.ts';

/**
 * Makes sure that a port can be listened on, before something is done that takes its time and
 * cannot be taken back. Rejects with `ConfigurationError`. `flag`: how another port is chosen.
 */
export async function requireFreePort(
  { host, port }: ListenAddress,
  flag: '--listen-addr' | '--cluster-listen',
): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, resolve);
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    const message =
      `Port ${port} is already in use; nothing was done. Free it, or choose another one with ` +
      `${flag}.`;
    throw new ConfigurationError(message, { cause });
  }
  await new Promise((resolve) => server.close(resolve));
}
