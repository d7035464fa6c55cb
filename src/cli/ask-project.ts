import { isCancel, select, text } from '@clack/prompts';
import { CliError } from './io.ts';
import type { Template } from './template-project.ts';

/** Asks for the name of a new project, or its folder. */
export async function askName(): Promise<string> {
  return answered(
    await text({
      message: 'What is the project called?',
      placeholder: 'my-app',
      defaultValue: 'my-app',
      validate: (given) => {
        if (given === undefined || given === '' || /[a-z0-9]/i.test(given)) return undefined;
        return 'A name has a letter or digit.';
      },
    }),
  );
}

/** Asks which template a new project is made of. */
export async function askTemplate(templates: readonly Template[]): Promise<Template> {
  return answered(
    await select<Template>({
      message: 'Which template?',
      options: templates.map((template) => ({
        value: template,
        label: template.name,
        hint: template.description,
      })),
    }),
  );
}

/** Escape and Ctrl-C end the command, with nothing done. */
function answered<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw new CliError('Nothing was created.');
  // The one symbol that prompts resolve with is that of a cancelled prompt.
  return answer as Exclude<T, symbol>;
}
