/** User name that stands for the sandbox's default user, whatever that one's name is. */
export const defaultUser = 'default';
