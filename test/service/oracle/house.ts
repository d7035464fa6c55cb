import { freePort, type RunningService, Sandbox } from '../harness.ts';
import { Running } from '../running.ts';

/** A service that can go away and come back at the same address, with what it had written. */
export interface House {
  readonly url: string;
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** In this process; stops in order. */
export async function homeHouse(): Promise<House> {
  const listen = { host: '127.0.0.1', port: await freePort() };
  let running = await Running.start({ listen });
  return {
    url: running.service.url,
    async restart() {
      await running.pause();
      running = await Running.start({ listen, dataDirectory: running.folder });
    },
    close: () => running.stop(),
  };
}

/** In a process of its own, which is killed in the middle of its work. */
export async function killedHouse(): Promise<House> {
  const sandbox = await Sandbox.make();
  const flags = ['--log-level', 'error'];
  let service: RunningService = await sandbox.start(flags);
  const kill = async () => {
    service.child.kill('SIGKILL');
    await service.ended;
  };
  return {
    url: sandbox.url,
    async restart() {
      await kill();
      service = await sandbox.start(flags);
    },
    async close() {
      await kill();
      sandbox.remove();
    },
  };
}
