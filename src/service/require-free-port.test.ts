import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { requireFreePort } from './require-free-port.ts';

it('[replication 16.3] a port that is taken is refused, and a free one stays free', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const place = { host: '127.0.0.1', port };
  await expect(requireFreePort(place, '--cluster-listen')).rejects.toThrow(
    `Port ${port} is already in use; nothing was done. Free it, or choose another one with ` +
      '--cluster-listen.',
  );
  await new Promise((resolve) => taken.close(resolve));
  await requireFreePort(place, '--listen-addr');
  await requireFreePort(place, '--listen-addr');
  await requireFreePort({ host: '127.0.0.1', port: 0 }, '--listen-addr');
});
