import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

/** A machine of a `NetworkLab`. */
export interface LabMachine {
  readonly address: string;
  /** The words before a command that runs it there. */
  readonly under: readonly string[];
}

/** Why there can be no lab here; `undefined` if there can. */
export function withoutNamespaces(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return 'network namespaces are for root on Linux';
  }
  const name = `rdb-probe-${process.pid}`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) {
    return 'network namespaces cannot be made here';
  }
  spawnSync('ip', ['netns', 'del', name]);
  return undefined;
}

/**
 * Machines of this machine: network namespaces with addresses of their own, on a bridge. Whoever
 * starts the lab is on it, too, with one address for each of `services`.
 */
export class NetworkLab {
  readonly #id = `${randomInt(36 ** 4).toString(36)}`;
  readonly #net = `10.${randomInt(200, 250)}.${randomInt(1, 250)}`;
  readonly #machines = new Map<string, LabMachine & { readonly namespace: string }>();
  readonly #services = new Map<string, string>();

  static start(services: readonly string[]): NetworkLab {
    const lab = new NetworkLab();
    ip('link', 'add', lab.#bridge, 'type', 'bridge');
    ip('link', 'set', lab.#bridge, 'up');
    for (const [at, service] of ['test', ...services].entries()) {
      const address = `${lab.#net}.${at + 1}`;
      ip('addr', 'add', `${address}/24`, 'dev', lab.#bridge);
      lab.#services.set(service, address);
    }
    return lab;
  }

  /** The addresses of all machines. */
  get network(): string {
    return `${this.#net}.0/24`;
  }

  addressOf(name: string): string {
    const address = this.#services.get(name) ?? this.#machines.get(name)?.address;
    if (address === undefined) throw new Error(`there is no ${name} in this network`);
    return address;
  }

  /** A machine of this name, which is made when it is asked for first. */
  machine(name: string): LabMachine {
    const known = this.#machines.get(name);
    if (known !== undefined) return known;
    const namespace = `rdb-${this.#id}-${name}`;
    const address = `${this.#net}.${this.#machines.size + 50}`;
    const made = { namespace, address, under: ['ip', 'netns', 'exec', namespace] };
    this.#machines.set(name, made);
    const link = this.#linkOf(name);
    ip('netns', 'add', namespace);
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    ip('link', 'set', link, 'master', this.#bridge);
    ip('link', 'set', link, 'up');
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', namespace, 'link', 'set', 'eth0', 'up');
    return made;
  }

  /** Nothing reaches it, and nothing comes from there. */
  cut(name: string): void {
    ip('link', 'set', this.#linkOf(name), 'down');
  }

  heal(name: string): void {
    ip('link', 'set', this.#linkOf(name), 'up');
  }

  /** Nothing that this machine sends reaches those; what they send arrives, and is not answered. */
  silence(name: string, others: readonly string[]): void {
    this.#route('add', name, others);
  }

  hear(name: string, others: readonly string[]): void {
    this.#route('del', name, others);
  }

  close(): void {
    for (const { namespace } of this.#machines.values()) ip('netns', 'del', namespace);
    ip('link', 'del', this.#bridge);
  }

  #route(change: 'add' | 'del', name: string, others: readonly string[]): void {
    const { namespace } = this.#machines.get(name) ?? { namespace: '' };
    for (const other of others) {
      ip('-n', namespace, 'route', change, 'blackhole', `${this.addressOf(other)}/32`);
    }
  }

  /** Names of links have 15 letters at most. */
  get #bridge(): string {
    return `rdb${this.#id}`;
  }

  #linkOf(name: string): string {
    return `v${this.#id}${name}`.slice(0, 15);
  }
}

function ip(...words: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`);
}
