import type { ButtonHTMLAttributes, MouseEvent, ReactNode, Ref } from 'react';
import styles from './button.module.css';
import { classes } from './classes.ts';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps
  extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'type'> {
  readonly kind?: 'normal' | 'accent' | 'danger' | 'plain';
  readonly size?: 'normal' | 'small';
  readonly icon?: IconName;
  /** Why it is off. The button stays reachable by keyboard, with this as its title. */
  readonly off?: string | false | undefined;
  readonly isBusy?: boolean;
  readonly isSubmit?: boolean;
  readonly children?: ReactNode;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** A button. Without children it is a square with an icon, and needs an `aria-label`. */
export function Button(props: ButtonProps) {
  const {
    kind = 'normal',
    size = 'normal',
    icon,
    off,
    isBusy,
    isSubmit,
    children,
    ...rest
  } = props;
  const { className, onClick, title, ...others } = rest;
  const isOff = (off !== undefined && off !== false) || isBusy === true;
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (isOff) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      {...others}
      type={isSubmit === true ? 'submit' : 'button'}
      className={classes(
        styles.button,
        kind !== 'normal' && styles[kind],
        size === 'small' && styles.small,
        children === undefined && styles.square,
        className,
      )}
      aria-disabled={isOff || undefined}
      title={typeof off === 'string' ? off : (title ?? others['aria-label'])}
      onClick={press}
    >
      {isBusy === true ? <span className={styles.spin} /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
