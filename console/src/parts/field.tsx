import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { classes } from './classes.ts';
import styles from './field.module.css';
import { Icon } from './icon.tsx';
import { countText } from './numbers.ts';

interface FieldProps {
  readonly label: string;
  /** Beside the label, such as a type. */
  readonly note?: string | undefined;
  readonly error?: string | undefined;
  /** Gets what ties the control to its label and its error. */
  readonly children: (control: FieldControl) => ReactNode;
}

export interface FieldControl {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

/** A control with its label, and what is wrong with its value. */
export function Field({ label, note, error, children }: FieldProps) {
  const id = useId();
  const control: FieldControl = {
    id,
    ...(error === undefined ? {} : { 'aria-describedby': `${id}-error`, 'aria-invalid': true }),
  };
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
        {note !== undefined && <span className={styles.note}>{note}</span>}
      </label>
      {children(control)}
      {error !== undefined && (
        <span className={styles.error} id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}

interface InputProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly isData?: boolean;
  readonly ref?: Ref<HTMLInputElement>;
}

/** One line of text; `isData` writes it in the typeface of data. */
export function Input({ isData, className, ...rest }: InputProps) {
  const name = classes(styles.input, isData === true && styles.mono, className);
  return <input autoComplete="off" spellCheck={false} {...rest} className={name} />;
}

interface TextAreaProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  readonly isData?: boolean;
}

export function TextArea({ isData, className, ...rest }: TextAreaProps) {
  const name = classes(styles.input, isData === true && styles.mono, className);
  return <textarea spellCheck={false} {...rest} className={name} />;
}

export function Select({ className, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select {...rest} className={classes(styles.input, className)} />;
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export function Switch({ label, isOn, onChange }: SwitchProps) {
  return (
    <label className={styles.switch}>
      <input
        type="checkbox"
        role="switch"
        aria-checked={isOn}
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Narrows a list while one types. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  return (
    <div className={styles.search}>
      <Icon name="search" size={14} />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

interface SearchBarProps extends SearchFieldProps {
  readonly shown: number;
  readonly all: number;
}

/** A search above a list, and how many of all it leaves. */
export function SearchBar({ shown, all, ...search }: SearchBarProps) {
  return (
    <div className={styles.searchBar}>
      <SearchField {...search} />
      <span className={styles.found} role="status">
        {countText(shown)} of {countText(all)}
      </span>
    </div>
  );
}
