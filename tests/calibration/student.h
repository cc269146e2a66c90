/* student.h - the distributions that the oracles of calibration need, as textbooks have them. */
#pragma once

/* The regularised incomplete beta function. */
double sf_student_beta(double a, double b, double x);
/* x with sf_student_beta(a, b, x) = p. */
double sf_student_beta_inverse(double a, double b, double p);
/* |t| that Student's distribution exceeds with probability p, both sides together. */
double sf_student_two_sided(double p, double df);
