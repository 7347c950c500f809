#pragma once

/// @file
/// Everything of the core library. Components with dependencies of their own have their own
/// headers: costate/hdf5/… for the disk tier.

#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"
#include "costate/core/step.hpp"
#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/autodiff.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/real_only.hpp"
#include "costate/ode/resume.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/tangent.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/ode/verify.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/sweep/run.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"
