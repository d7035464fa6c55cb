import type { Setting } from './setting.ts';
import { settings } from './settings.ts';
import { formatToml } from './toml.ts';

/** The settings of one table in `config.toml`. */
export interface SettingGroup {
  /** Empty for the top level of the file. */
  readonly table: string;
  readonly settings: readonly Setting[];
}

/** Groups the settings by table, in the order of the file. */
export function settingGroups(): readonly SettingGroup[] {
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) {
    const { table } = keyParts(setting);
    groups.set(table, [...(groups.get(table) ?? []), setting]);
  }
  return [...groups].map(([table, ofTable]) => ({ table, settings: ofTable }));
}

/** Splits `websocket.ping-interval` into the table `websocket` and the name `ping-interval`. */
export function keyParts({ key }: Pick<Setting, 'key'>): { table: string; name: string } {
  const dot = key.lastIndexOf('.');
  return { table: key.slice(0, Math.max(dot, 0)), name: key.slice(dot + 1) };
}

/** Returns a `config.toml` that explains every setting and sets none. */
export function emptySettingsFile(): string {
  const groups = settingGroups().map(({ table, settings: ofTable }) => {
    const lines = ofTable.flatMap((setting) => [
      ...wrapped(setting.help),
      `# default: ${setting.otherwise}`,
      `#${exampleOf(setting)}`,
      '',
    ]);
    return [...(table === '' ? [] : [`[${table}]`, '']), ...lines].join('\n');
  });
  return [head, ...groups].join('\n');
}

/** The setting in one line. */
function exampleOf(setting: Setting): string {
  const { example } = setting;
  const { name } = keyParts(setting);
  if (typeof example !== 'object' || Array.isArray(example)) {
    return formatToml({ [name]: example }).trim();
  }
  const pairs = Object.entries(example).map((pair) => pair.map((one) => JSON.stringify(one)));
  return `${name} = { ${pairs.map((pair) => pair.join(' = ')).join(', ')} }`;
}

/** Wraps text as comments of at most 100 columns. */
function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`;
    if (line.length < 100) lines[lines.length - 1] = line;
    else lines.push(` ${word}`);
  }
  return lines.map((line) => `#${line}`);
}

const head = `\
# Settings of the service whose data is in this folder. Flags of reducerdb start and variables of
# the environment win over this file; reducerdb config check shows what holds, and why.
# A line that begins with # and a key is an example: take the # away to set it.
`;
