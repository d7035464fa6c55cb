/** The service that a load is put on, in the process of the benchmark. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../../src/bundle/build-module.ts';
import { startService } from '../../src/service/start-service.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';

export interface BenchService {
  readonly port: number;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** Starts a service with one database, of the module `name` in `bench/modules`, under that name. */
export async function serviceWith(name: string): Promise<BenchService> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  const service = await startService({
    listen: { host: '127.0.0.1', port: 0 },
    dataDirectory: folder,
    logLevel: 'silent',
  });
  const stop = async (): Promise<void> => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const module = fileURLToPath(new URL(`../modules/${name}`, import.meta.url));
    const { program } = await buildModule(module, {});
    await service.host.publish({
      caller: { identity: callerIdentity(7n), payload: '', isAnonymous: false },
      target: name,
      program: { kind: 'js', bytes: program },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { port: service.address.port, stop };
}
