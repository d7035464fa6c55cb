import { Switch } from '../../parts/field.tsx';
import styles from './access.module.css';

interface ChoicesProps {
  readonly title: string;
  /** What holds where nothing is chosen. */
  readonly standard: string;
  readonly all: readonly string[];
  /** `null`: the standard. */
  readonly chosen: readonly string[] | null;
  readonly onChange: (chosen: readonly string[] | null) => void;
}

/** The standard, or some of a list. */
export function Choices({ title, standard, all, chosen, onChange }: ChoicesProps) {
  const toggle = (name: string) => {
    const old = chosen ?? [];
    onChange(old.includes(name) ? old.filter((one) => one !== name) : [...old, name]);
  };
  return (
    <fieldset className={styles.choices}>
      <legend>{title}</legend>
      <Switch
        label={chosen === null ? standard : 'only these'}
        isOn={chosen !== null}
        onChange={(isOn) => onChange(isOn ? [] : null)}
      />
      {chosen !== null && (
        <div className={styles.list}>
          {all.map((name) => (
            <label key={name} className={styles.choice}>
              <input
                type="checkbox"
                checked={chosen.includes(name)}
                onChange={() => toggle(name)}
              />
              <code>{name}</code>
            </label>
          ))}
        </div>
      )}
    </fieldset>
  );
}
