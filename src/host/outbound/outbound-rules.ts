import { BlockList, isIP, isIPv4 } from 'node:net';
import { addressKind } from '../../auth/address-rules.ts';

/**
 * Which hosts modules can reach. `public`: those at public addresses, and private networks that the
 * allow-list opens. `list`: those of the allow-list alone. `off`: none.
 */
export const outboundModes = ['public', 'list', 'off'] as const;
export type OutboundMode = (typeof outboundModes)[number];

export interface OutboundRules {
  readonly mode: OutboundMode;
  readonly allow: readonly AllowedPlace[];
}

export const publicOnly: OutboundRules = { mode: 'public', allow: [] };

/** One entry of the allow-list: a host name or a network. */
export interface AllowedPlace {
  /** Name or identity of the only database that it is for; absent: all. */
  readonly database: string | undefined;
  /** Absent: any. */
  readonly port: number | undefined;
  readonly target: HostName | Network;
  /** True: a network that begins with a private address, so it adds to what is public. */
  readonly isPrivate: boolean;
}

/**
 * The mode where only the allow-list was set. A list of public places closes all others; private
 * networks are opened beside them.
 */
export function modeFor(allow: readonly AllowedPlace[]): OutboundMode {
  return allow.every(({ isPrivate }) => isPrivate) ? 'public' : 'list';
}

interface HostName {
  readonly kind: 'name';
  /** Lower-case; with a star, what follows it, from the dot on. */
  readonly text: string;
  /** True: any name that ends with the text. */
  readonly hasStar: boolean;
}

interface Network {
  readonly kind: 'network';
  readonly family: 4 | 6;
  readonly addresses: BlockList;
}

/** A server as the URL of a request names it. */
export interface Destination {
  /** Host name or literal address, without brackets, as `URL` spells it. */
  readonly host: string;
  readonly port: number;
}

/** The answers of the rules for one database and one destination. */
export interface Gate {
  /** False: no address of the host would be allowed. */
  readonly isOpen: boolean;
  /** True: the operator has named the host, so the system itself may look it up. */
  readonly isNamed: boolean;
  /** What the module reads when no address is allowed. */
  readonly refusal: string;
  allows(address: string): boolean;
}

const privateText = 'refusing to connect to private or special-purpose addresses';
const unlistedText = 'refusing to connect to a host that is not in module-http.allow';

/** `keys`: the identity of the database in hex digits, and its names. */
export function gateOf(
  { mode, allow }: OutboundRules,
  keys: readonly string[],
  { host, port }: Destination,
): Gate {
  const isPublic = (address: string) => addressKind(address) === 'public';
  const places = allow.filter(
    (place) =>
      (place.port === undefined || place.port === port) &&
      (place.database === undefined || keys.includes(place.database)),
  );
  const names = places.flatMap(({ target }) => (isNameOf(target, host) ? [target] : []));
  const isListed = mode === 'public' || names.length > 0;
  const networks = places.flatMap(({ target, database }) =>
    target.kind === 'network' ? [{ target, isForOne: database !== undefined }] : [],
  );
  return {
    isOpen: isListed || networks.length > 0,
    isNamed: names.some(({ hasStar }) => !hasStar),
    refusal: isListed ? privateText : unlistedText,
    allows: (address) =>
      (isListed && isPublic(address)) ||
      networks.some(
        ({ target, isForOne }) => contains(target, address) && (isForOne || isPublic(address)),
      ),
  };
}

function isNameOf(target: AllowedPlace['target'], host: string): target is HostName {
  if (target.kind !== 'name') return false;
  const plain = host.endsWith('.') ? host.slice(0, -1) : host;
  return target.hasStar ? plain.endsWith(target.text) : plain === target.text;
}

/** Only in its own form: an IPv4 network does not contain `::ffff:10.0.0.1`. */
function contains({ family, addresses }: Network, address: string): boolean {
  // A zone such as `%eth0` does not identify the network.
  const [plain = ''] = address.split('%');
  return isIP(plain) === family && addresses.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Reads an entry: `api.example.com`, `*.example.com`, `93.184.215.0/24`, `[2606:4700::]/32`, each
 * with a port if only that is meant (`api.example.com:443`), and with the name or the identity of
 * a database if only that one is (`shop=10.0.0.0/8:5432`). An entry opens private addresses only if
 * it is a network for one database. Throws an `Error` that says what is wrong.
 */
export function parseAllowedPlace(text: string): AllowedPlace {
  const [, database, place = '', port] =
    /^(?:([^=\s]+)=)?(\[[^[\]\s]+\](?:\/\d+)?|[^\s:[\]=]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const target = networkIn(place) ?? nameIn(place);
  if (target === undefined || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0) {
    throw new Error(
      `\`${text}\` is neither a host nor a network; write it like \`api.example.com\`, ` +
        '`*.example.com:443` or `shop=10.0.0.0/8:5432`',
    );
  }
  if (target.kind === 'network' && database === undefined && !target.startsPublic) {
    throw new Error(
      `\`${text}\` opens private addresses; name the database that can use them: \`shop=${text}\``,
    );
  }
  const parsed = { database, port: port === undefined ? undefined : Number(port) };
  if (target.kind === 'name') return { ...parsed, target, isPrivate: false };
  const { kind, family, addresses, startsPublic } = target;
  return { ...parsed, target: { kind, family, addresses }, isPrivate: !startsPublic };
}

function networkIn(place: string): (Network & { readonly startsPublic: boolean }) | undefined {
  const [, inBrackets, plain, bits] = /^(?:\[(.+)\]|([^/[\]]+))(?:\/(\d{1,3}))?$/.exec(place) ?? [];
  const address = inBrackets ?? plain ?? '';
  const family = inBrackets === undefined ? 4 : 6;
  const length = bits === undefined ? (family === 4 ? 32 : 128) : Number(bits);
  if (isIP(address) !== family || address.includes('%') || length > (family === 4 ? 32 : 128))
    return undefined;
  const addresses = new BlockList();
  addresses.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  return { kind: 'network', family, addresses, startsPublic: addressKind(address) === 'public' };
}

function nameIn(place: string): HostName | undefined {
  const hasStar = place.startsWith('*.');
  const name = hasStar ? place.slice(2) : place;
  if (!/^[^\s/?#@:%*\\]+$/.test(name) || !URL.canParse(`http://${name}`)) return undefined;
  const host = new URL(`http://${name}`).hostname;
  // `10.1` and `0x7f000001` are names to people and addresses to a URL.
  if (isIPv4(host)) return undefined;
  return { kind: 'name', text: hasStar ? `.${host}` : host, hasStar };
}
