/** Where the built files are: `index.html` and what it loads, side by side. Absolute. */
export declare const dashboardDirectory: string;
