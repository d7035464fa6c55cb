import { limits } from '../limits.ts';

/** Host names of apps: the static files that databases publish. */
export interface AppHostRules {
  /** Each database has the host `<name>.<domain>`; `undefined`: there are none. */
  readonly domain: string | undefined;
  /** Names that the operator has bound, and the database of each. */
  readonly bound: ReadonlyMap<string, string>;
  /** Names of the service itself, which are never those of an app. */
  readonly own: readonly string[];
}

/**
 * Tells hosts of apps from those of the service. What a publisher controls is served at a host of
 * its own, so that it never has the origin of the API.
 */
export class AppHosts {
  readonly #rules: AppHostRules;
  /** Answers by header. Clients choose the headers, so there is a bound. */
  readonly #known = new Map<string, string | undefined>();

  constructor(rules: AppHostRules) {
    this.#rules = rules;
  }

  /**
   * The database that a `Host` header names, as a target; `undefined`: it names the service. Every
   * name below the domain is an app's, also one that no database can have.
   */
  databaseOf(header: string | undefined): string | undefined {
    if (header === undefined) return undefined;
    const known = this.#known.get(header);
    if (known !== undefined || this.#known.has(header)) return known;
    if (this.#known.size >= limits.appHostsKeptMax) this.#known.clear();
    const found = this.#find(header);
    this.#known.set(header, found);
    return found;
  }

  /** The hosts of a database with this name, without a port: that below the domain comes first. */
  hostsOf(name: string): readonly string[] {
    const { domain, bound, own } = this.#rules;
    const below = domain === undefined || !labelPattern.test(name) ? [] : [`${name}.${domain}`];
    const others = [...bound].filter(([, database]) => database === name).map(([host]) => host);
    return [...below.filter((host) => !own.includes(host)), ...others];
  }

  #find(header: string): string | undefined {
    const { domain, bound, own } = this.#rules;
    const name = nameIn(header);
    if (name === undefined) return this.#isOddApp(header) ? noDatabase : undefined;
    if (own.includes(name)) return undefined;
    const database = bound.get(name);
    if (database !== undefined || domain === undefined) return database;
    if (!name.endsWith(`.${domain}`)) return undefined;
    const label = name.slice(0, -domain.length - 1);
    return labelPattern.test(label) ? label : noDatabase;
  }

  /** Whether what is no host name is below the domain, or at a bound name, to a lax reader. */
  #isOddApp(header: string): boolean {
    const { domain, bound } = this.#rules;
    const name = looseNameIn(header);
    return bound.has(name) || (domain !== undefined && name.endsWith(`.${domain}`));
  }
}

/** A target that no database has. */
const noDatabase = '';

/** What can be a label of a host name, and is not longer than one. */
const labelPattern = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/;

/** Returns the name in a `Host` header, without port and final dot; `undefined`: an address. */
function nameIn(header: string): string | undefined {
  return /^([a-z\d_-]+(?:\.[a-z\d_-]+)*)\.?(?::\d{1,5})?$/.exec(header.toLowerCase())?.[1];
}

/**
 * Returns what could be meant as the name in any `Host` header: without a user in front, without
 * what follows the first colon outside of brackets, and without final dots and spaces.
 */
function looseNameIn(header: string): string {
  const host = header.slice(header.lastIndexOf('@') + 1).toLowerCase();
  const colon = host.indexOf(':', host.lastIndexOf(']') + 1);
  let end = colon === -1 ? host.length : colon;
  // No pattern: it would take quadratic time for a header of dots.
  while (end > 0 && '. \t'.includes(host.charAt(end - 1))) end -= 1;
  return host.slice(0, end);
}

/** Whether a text is the name of a host: labels with dots, and not an address. */
export function isHostName(text: string): boolean {
  const labels = text.split('.');
  const isName = labels.every((label) => labelPattern.test(label));
  return isName && text.length <= 253 && !/^\d+$/.test(labels.at(-1) ?? '');
}

/** Whether a name stays on this machine: `localhost`, and all names below it. */
export function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}
