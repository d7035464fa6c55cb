import type { Command } from 'commander';
import { completeConfiguration, isLoopback } from '../../service/configuration.ts';
import { configurationFile } from '../../service/effective-settings.ts';
import type { Io } from '../io.ts';
import { type ServiceSettings, serviceSettings, withServiceSettings } from '../service-settings.ts';
import { Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';

/** `config check`: explains what a service would run with, and refuses what it would refuse. */
export function addConfig(program: Command, io: Io): void {
  const config = program.command('config').description('look at the settings of a service');
  withServiceSettings(
    config
      .command('check')
      .description('show every setting of a service, where it comes from, and what is wrong'),
  ).action((_flags, command: Command) => {
    const effective = serviceSettings(new Session(io, command), command);
    io.out(`Settings of a service with its data in ${effective.dataDirectory}`);
    io.out(`(file: ${configurationFile(effective.dataDirectory)})\n`);
    io.out(tableOf(effective));
    for (const line of consequences(effective)) io.out(line);
  });
}

function tableOf({ settings }: ServiceSettings): string {
  return drawTable({
    header: ['SETTING', 'VALUE', 'FROM', 'MEANING'],
    rows: settings.map(({ setting, given, origin }) => [
      setting.key,
      given === undefined ? setting.otherwise : written(given),
      origin,
      setting.help,
    ]),
  });
}

function written(given: unknown): string {
  return Array.isArray(given) ? given.join(', ') : String(given);
}

/** What follows for whoever can reach the service. Throws `ConfigurationError`. */
function consequences({ configuration }: ServiceSettings): string[] {
  const { listen, tls, publishPolicy } = completeConfiguration(configuration);
  if (isLoopback(listen.host)) return ['', 'Only programs on this machine can connect.'];
  const policy = typeof publishPolicy === 'string' ? publishPolicy : 'those on the list';
  const warning = 'Without TLS, put a proxy with TLS in front: tokens travel readable.';
  return [
    '',
    `Other machines can connect to ${listen.host}:${listen.port}. Who may publish: ${policy}.`,
    ...(tls === undefined ? [warning] : []),
  ];
}
