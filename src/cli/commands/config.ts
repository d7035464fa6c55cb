import { mkdirSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { completeConfiguration, isLoopback } from '../../service/configuration.ts';
import { configurationFile, type EffectiveSetting } from '../../service/effective-settings.ts';
import { chooseIsolation } from '../../service/isolation-choice.ts';
import { loginClientsOf } from '../../service/login-clients.ts';
import { shownValue, variableOf } from '../../service/setting.ts';
import { emptySettingsFile, keyParts, settingGroups } from '../../service/settings-file.ts';
import { CliError, type Io } from '../io.ts';
import {
  dataFolder,
  type ServiceSettings,
  serviceSettings,
  withServiceSettings,
} from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir } from '../shared-flags.ts';

/** Adds `config`, which shows the settings of a service and creates a file of them. */
export function addConfig(program: Command, io: Io): void {
  const config = program.command('config').description('show the settings of a service');
  withServiceSettings(
    config
      .command('check')
      .description('show every setting and the origin of its value, and report invalid ones')
      .option('--json', 'print JSON'),
  ).action((flags: { json?: true }, command: Command) => {
    const effective = serviceSettings(new Session(io, command), command);
    if (flags.json === true) io.out(asJson(effective));
    else for (const line of asText(effective)) io.out(line);
    for (const line of effective.warnings) io.err(`WARNING: ${line}`);
    const consequences = consequencesOf(effective);
    if (flags.json !== true) for (const line of consequences) io.out(line);
  });
  withDataDir(config.command('init'))
    .description('write a config.toml that documents every setting and sets none')
    .action((flags: { dataDir?: string }, command: Command) => {
      writeFile(io, dataFolder(new Session(io, command), flags.dataDir));
    });
}

function asJson({ settings, dataDirectory, warnings }: ServiceSettings): string {
  const shown = settings.map(({ setting, given, origin }) => ({
    key: setting.key,
    value: shownValue(setting, given) ?? null,
    from: origin,
    default: setting.otherwise,
    flag: `--${setting.flag}`,
    variable: variableOf(setting),
    meaning: setting.help,
  }));
  const file = configurationFile(dataDirectory);
  return JSON.stringify({ data_dir: dataDirectory, file, settings: shown, warnings }, null, 2);
}

/** One line for each setting, below its table in the file. */
function asText({ settings, dataDirectory }: ServiceSettings): string[] {
  const width = Math.max(...settings.map(({ setting }) => keyParts(setting).name.length));
  const byKey = new Map(settings.map((one) => [one.setting.key, one]));
  const lines = settingGroups().flatMap(({ table, settings: ofTable }) => {
    const shown = ofTable.flatMap(({ key }) => {
      const one = byKey.get(key);
      return one === undefined ? [] : [lineOf(one, width)];
    });
    return ['', ...(table === '' ? [] : [`[${table}]`]), ...shown];
  });
  return [
    `data folder  ${dataDirectory}`,
    `file         ${configurationFile(dataDirectory)}`,
    ...lines,
  ];
}

function lineOf({ setting, given, origin }: EffectiveSetting, width: number): string {
  const name = keyParts(setting).name.padEnd(width);
  if (given === undefined) return `  ${name}  (${setting.otherwise})`;
  const value = valueText(shownValue(setting, given));
  return `* ${name}  ${value.padEnd(24)}  from ${origin}`;
}

function valueText(given: unknown): string {
  if (Array.isArray(given)) return given.join(', ');
  if (typeof given !== 'object' || given === null) return String(given);
  return Object.entries(given)
    .map((pair) => pair.join('='))
    .join(', ');
}

/** What these settings mean for anyone who can reach the service. Throws `ConfigurationError`. */
function consequencesOf({ configuration }: ServiceSettings): string[] {
  const complete = completeConfiguration(configuration);
  loginClientsOf(complete);
  const { listen, tls, publishPolicy, operators, quotas } = complete;
  const { rules, reason } = chooseIsolation(complete);
  const most = quotas['databases-per-identity'] ?? 'any number of';
  const legend = [
    '',
    'Settings marked * are set; values in brackets are defaults.',
    `Each database runs in a ${rules.everywhere} of its own (isolation): ${reason}.`,
    `An identity that is not an operator can own ${most} databases.`,
  ];
  if (isLoopback(listen.host)) return [...legend, 'Only programs on this machine can connect.'];
  const policy = typeof publishPolicy === 'string' ? publishPolicy : 'those that are listed';
  const bare =
    'TLS is off, so tokens are sent in clear text. Put a TLS proxy in front of the service.';
  const alone = 'No operator is set: nobody can read the audit log or metrics over HTTP.';
  return [
    ...legend,
    `Other machines can connect to ${listen.host}:${listen.port}. Who may publish: ${policy}.`,
    ...(tls === undefined ? [bare] : []),
    ...(operators.length === 0 ? [alone] : []),
  ];
}

function writeFile(io: Io, folder: string): void {
  const file = configurationFile(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, emptySettingsFile(), { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new CliError(`${file} already exists.`, 1, { cause });
  }
  io.out(`Wrote ${file}`);
}
