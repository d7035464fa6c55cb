import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { HostedDatabase } from '../../src/host/hosted-database.ts';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import type { Service, startService } from '../../src/service/start-service.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';

/** From source, a worker is another file. */
const shipped = new URL('../../dist/service/index.js', import.meta.url).href;

interface Shipped {
  readonly startService: typeof startService;
}

const rowsPerCall = 50_000;

/** A service with the module `ledger`, as it is shipped, and a caller of it. */
export class Ledger {
  readonly service: Service;
  readonly database: HostedDatabase;
  readonly directory: string;
  readonly #rowCount: number;
  #turn = 0;

  private constructor(service: Service, folder: string, rowCount: number) {
    this.service = service;
    this.database = service.host.database('ledger');
    this.#rowCount = rowCount;
    const own = path.join(folder, 'databases');
    const [log = ''] = readdirSync(own, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /log-\d+$/.test(name),
    );
    this.directory = path.join(own, log);
  }

  static async start(
    dataDirectory: string,
    rowCount: number,
    given: GivenConfiguration = {},
  ): Promise<Ledger> {
    const { startService: start } = (await import(shipped)) as Shipped;
    const listen = { host: '127.0.0.1', port: 0 };
    const service = await start({ listen, dataDirectory, logLevel: 'silent', ...given });
    return new Ledger(await published(service), dataDirectory, rowCount);
  }

  /** Fills it. */
  async open(): Promise<void> {
    await this.connect();
    for (let first = 0; first < this.#rowCount; first += rowsPerCall) {
      const args = new DataView(new ArrayBuffer(8));
      args.setUint32(0, first, true);
      args.setUint32(4, Math.min(rowsPerCall, this.#rowCount - first), true);
      await this.#call('open', new Uint8Array(args.buffer));
    }
  }

  connect(): Promise<unknown> {
    return this.database.handle.connect(this.#caller, connection.id);
  }

  /** Moves an amount between two accounts, and waits until that is durable. */
  transfer(): Promise<void> {
    const args = new DataView(new ArrayBuffer(16));
    this.#turn += 1;
    args.setUint32(0, (this.#turn * 7_919) % this.#rowCount, true);
    args.setUint32(4, (this.#turn * 104_729 + 1) % this.#rowCount, true);
    args.setBigInt64(8, 1n, true);
    return this.#call('transfer', new Uint8Array(args.buffer));
  }

  get #caller() {
    return this.service.host.callerFor(caller, this.database);
  }

  async #call(reducer: string, args: Uint8Array): Promise<void> {
    const { handle } = this.database;
    const { schemaVersion } = await handle.describe();
    const call = { caller: this.#caller, connection, reducer, args, schemaVersion };
    const outcome = await handle.call({ ...call, confirmed: true });
    if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
  }
}

/** Publishes the ledger, unless it is there. */
async function published(service: Service): Promise<Service> {
  try {
    service.host.database('ledger');
  } catch {
    const module = fileURLToPath(new URL('../modules/ledger', import.meta.url));
    const { program: bytes } = await buildModule(module, {});
    await service.host.publish({
      caller,
      target: 'ledger',
      program: { kind: 'js', bytes },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
  }
  return service;
}

const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
const connection = { kind: 'open', id: connectionNumber(1n) } as const;
